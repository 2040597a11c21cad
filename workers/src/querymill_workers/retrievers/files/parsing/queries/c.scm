; What C and C++ share.
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @definition.function
(function_definition
  declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @definition.function
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(union_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(type_definition declarator: (type_identifier) @name) @definition.type
(preproc_def name: (identifier) @name) @definition.macro
(preproc_function_def name: (identifier) @name) @definition.macro

(preproc_include path: (system_lib_string) @name) @import.module
(preproc_include path: (string_literal (string_content) @name)) @import.module

(call_expression function: (identifier) @name) @call
(call_expression function: (field_expression argument: (_) @qualifier field: (field_identifier) @name)) @call
(type_identifier) @name @type
