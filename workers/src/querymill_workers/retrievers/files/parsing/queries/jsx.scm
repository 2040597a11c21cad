; Elements call the components they name.
(jsx_opening_element name: (identifier) @name) @call
(jsx_self_closing_element name: (identifier) @name) @call
(jsx_opening_element name: (member_expression object: (_) @qualifier property: (property_identifier) @name)) @call
(jsx_self_closing_element name: (member_expression object: (_) @qualifier property: (property_identifier) @name)) @call
