"""Attention by hand: sat, bank and river all ask at once."""

import numpy as np


def attention(Q, K, V):
    S = Q @ K.T / np.sqrt(K.shape[1])  # every query against every key
    A = np.exp(S - np.logaddexp.reduce(S, axis=1, keepdims=True))  # softmax
    return A, A @ V  # where each token looks, and what it gets


#              sat     bank    river
Q = np.array([[2, 0], [1, 2], [0, 1]])
K = np.array([[1, 0], [1, 1], [0, 2]])
V = np.array([[1, 0], [0.5, 0.5], [1, 0]])

A, O = attention(Q, K, V)
print(A.round(2))
print(O.round(2))
