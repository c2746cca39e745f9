"""Data only: policies, prompts, the sample workspace, translations."""

from pathlib import Path

FOLDER = Path(__file__).parent
"""Where the data stands: always real files, so that tools can read the sample workspace."""
