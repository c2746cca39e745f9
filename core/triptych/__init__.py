"""The core of Triptych: an agent's messages, and the layers that shorten them, as values.

Nothing here knows a user interface; import the module you need, for example `triptych.layers.clear`.
"""
