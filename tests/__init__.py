"""The proof: unit tables, properties, golden bytes and real HTTP."""
