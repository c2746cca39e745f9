"""Someone's own layer functions, run in a process of their own and held against the lesson's."""
