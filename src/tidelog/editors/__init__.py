"""Support for people who write programs in editors.

format      `formatted`, the layout of `tidelog format`: items, statements, layout
"""
