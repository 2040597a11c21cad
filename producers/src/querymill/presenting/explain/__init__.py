"""Texts about a job, made from the facts on the board: for the terminal, the console and the API.

Everything here is a pure function over plain values. It needs no server and no framework.
"""
