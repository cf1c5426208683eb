// Carries the precompiled headers that every test uses (see tests/CMakeLists.txt).
