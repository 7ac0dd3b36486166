"""Pages that execute, prove their numbers, and fail the build when they lie."""
