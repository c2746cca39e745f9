"""The layers that shorten a list of messages, each a parameters class and a pure plan."""
