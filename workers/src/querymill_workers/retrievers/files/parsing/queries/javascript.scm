; What JavaScript has and TypeScript writes otherwise.
(class_heritage (identifier) @name) @type
(class_heritage (member_expression property: (property_identifier) @name)) @type
