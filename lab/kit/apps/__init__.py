"""Servers and loads: real programs, with what they measured themselves."""
