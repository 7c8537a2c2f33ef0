"""`python -m sesstool`."""

from sesstool.cli.main import main

if __name__ == "__main__":
    main()
