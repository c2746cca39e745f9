"""The command line and the full-screen workbench."""
