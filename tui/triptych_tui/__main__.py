from triptych_tui.cli import main

main()
