; What C++ adds.
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
(namespace_definition name: (namespace_identifier) @name) @definition.module
(alias_declaration name: (type_identifier) @name) @definition.type
(function_definition declarator: (function_declarator declarator: (field_identifier) @name)) @definition.method
(function_definition declarator: (function_declarator
  declarator: (qualified_identifier scope: (_) @qualifier name: (identifier) @name))) @definition.method
(function_definition declarator: (pointer_declarator declarator: (function_declarator
  declarator: (qualified_identifier scope: (_) @qualifier name: (identifier) @name)))) @definition.method
(function_definition declarator: (reference_declarator (function_declarator
  declarator: (qualified_identifier scope: (_) @qualifier name: (identifier) @name)))) @definition.method
(function_definition declarator: (reference_declarator (function_declarator
  declarator: [(identifier) (field_identifier)] @name))) @definition.function
(using_declaration (qualified_identifier) @name) @import.module

(call_expression function: (qualified_identifier scope: (_) @qualifier name: (identifier) @name)) @call
(call_expression function: (template_function name: (identifier) @name)) @call
(new_expression type: (type_identifier) @name) @call
