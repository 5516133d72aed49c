"""Rational units in transformers: a pretrained MiniLM, and DeiT from scratch."""
