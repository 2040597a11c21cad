(function_item name: (identifier) @name) @definition.function
(function_signature_item name: (identifier) @name) @definition.function
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(union_item name: (type_identifier) @name) @definition.struct
(trait_item name: (type_identifier) @name) @definition.trait
(type_item name: (type_identifier) @name) @definition.type
(mod_item name: (identifier) @name) @definition.module
(macro_definition name: (identifier) @name) @definition.macro
(const_item name: (identifier) @name) @definition.constant
(static_item name: (identifier) @name) @definition.constant
(impl_item type: (type_identifier) @name) @scope
(impl_item type: (generic_type type: (type_identifier) @name)) @scope

(use_declaration argument: (scoped_identifier) @name) @import.module
(use_declaration argument: (scoped_identifier path: (_) @qualifier name: (identifier) @name)) @import.name
(use_declaration argument: (scoped_use_list path: (_) @name)) @import.module
(use_declaration argument: (scoped_use_list path: (_) @qualifier list: (use_list (identifier) @name))) @import.name
(use_declaration argument: (use_as_clause path: (_) @name)) @import.module
(use_declaration argument: (use_wildcard (_) @name)) @import.module

(call_expression function: (identifier) @name) @call
(call_expression function: (field_expression value: (_) @qualifier field: (field_identifier) @name)) @call
(call_expression function: (scoped_identifier path: (_) @qualifier name: (identifier) @name)) @call
(macro_invocation macro: (identifier) @name) @call
(type_identifier) @name @type
