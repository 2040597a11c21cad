(class_declaration name: (identifier) @name) @definition.class
(record_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(annotation_type_declaration name: (identifier) @name) @definition.interface
(enum_declaration name: (identifier) @name) @definition.enum
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.method
(field_declaration (modifiers "static") declarator: (variable_declarator name: (identifier) @name)) @definition.constant

(import_declaration (scoped_identifier) @name) @import.module
(import_declaration (scoped_identifier scope: (_) @qualifier name: (identifier) @name) . ";") @import.name

(method_invocation !object name: (identifier) @name) @call
(method_invocation object: (_) @qualifier name: (identifier) @name) @call
(object_creation_expression type: (type_identifier) @name) @call
(marker_annotation name: (identifier) @name) @type
(annotation name: (identifier) @name) @type
(type_identifier) @name @type
