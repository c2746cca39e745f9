"""Data only: policies, prompts, the sample workspace, translations."""
