"""The HTTP gateway: the same contracts over HTTP, for backends that do not speak Python."""
