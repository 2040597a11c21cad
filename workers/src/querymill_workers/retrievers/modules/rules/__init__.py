"""Pure rules of `modules`: plain values in, plain values out."""
