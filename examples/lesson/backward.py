"""The backward pass by hand, beside central differences."""

import numpy as np

Q, K, V, dO = np.random.default_rng(0).normal(size=(4, 3, 4))
scale = 1 / np.sqrt(K.shape[1])


def attention(Q, K, V):
    S = scale * Q @ K.T
    A = np.exp(S - np.logaddexp.reduce(S, axis=1, keepdims=True))
    return A, A @ V


def loss(Q, K, V):
    return (dO * attention(Q, K, V)[1]).sum()


A, _ = attention(Q, K, V)
dV = A.T @ dO
dA = dO @ V.T
dS = A * (dA - (dA * A).sum(axis=1, keepdims=True))
dQ = scale * dS @ K
dK = scale * dS.T @ Q


def central_differences(name, step=1e-6):
    """Moves one number at a time up and down, and asks what the loss did."""
    inputs = {"Q": Q, "K": K, "V": V}
    gradient = np.zeros_like(inputs[name])
    for at in np.ndindex(gradient.shape):
        move = np.zeros_like(gradient)
        move[at] = step
        above = loss(**inputs | {name: inputs[name] + move})
        below = loss(**inputs | {name: inputs[name] - move})
        gradient[at] = (above - below) / (2 * step)
    return gradient


for name, gradient in {"Q": dQ, "K": dK, "V": dV}.items():
    print(f"d{name} =", gradient.round(3), sep="\n")
    print(f"largest difference {abs(gradient - central_differences(name)).max():.1e}\n")
