"""Run the command as `python -m pipeproof`."""

from pipeproof.cli import main

if __name__ == "__main__":
    main()
