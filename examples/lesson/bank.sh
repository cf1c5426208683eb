#!/bin/sh
# Attention in the shell: every step between q, k, v and the answer.
qkv explain bank

# The river says money: no weight moves, the answer does.
qkv explain bank --set 'v[river]=0,1'
