"""What people are told of a job, made from the facts that the board holds: for the terminal, the console and the API.

Everything here is a pure function over plain values. It needs no server and no framework.
"""
