; Captures: definition.KIND, import.KIND, call, type, scope; each with @name, some with @qualifier.
(class_definition name: (identifier) @name) @definition.class
(function_definition name: (identifier) @name) @definition.function
(module (expression_statement (assignment left: (identifier) @name)) @definition.constant)
(type_alias_statement left: (type (identifier) @name)) @definition.type

(import_statement name: (dotted_name) @name) @import.module
(import_statement name: (aliased_import name: (dotted_name) @name)) @import.module
(import_from_statement module_name: (_) @name) @import.module
(import_from_statement module_name: (_) @qualifier name: (dotted_name) @name) @import.name
(import_from_statement module_name: (_) @qualifier name: (aliased_import name: (dotted_name) @name)) @import.name

(call function: (identifier) @name) @call
(call function: (attribute object: (_) @qualifier attribute: (identifier) @name)) @call
(decorator (identifier) @name) @call
(decorator (attribute object: (_) @qualifier attribute: (identifier) @name)) @call

(class_definition superclasses: (argument_list (identifier) @name)) @type
(class_definition superclasses: (argument_list (attribute attribute: (identifier) @name))) @type
(type (identifier) @name) @type
(type (attribute attribute: (identifier) @name)) @type
(type (generic_type (identifier) @name)) @type
