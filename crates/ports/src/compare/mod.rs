//! Two arrays compared: the first site, spin, colour and bit where they differ, how many do, where they lie, and what that tells.
