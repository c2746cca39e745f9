"""`python -m triptych_tui`."""

from triptych_tui.start import main

main()
