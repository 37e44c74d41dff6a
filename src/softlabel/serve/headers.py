"""What every response says to the browser about what it may do."""

from __future__ import annotations

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "media-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
ALWAYS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
HTTPS_ONLY = {"strict-transport-security": "max-age=31536000"}

Raw = list[tuple[bytes, bytes]]


def raw(headers: dict[str, str]) -> Raw:
    """Headers as the server interface wants them."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


def with_security(found: Raw, always: Raw) -> Raw:
    """The response's own headers and ours; nothing is cached that does not ask for it."""
    cached = any(name == b"cache-control" for name, _ in found)
    return found + always + ([] if cached else [(b"cache-control", b"no-store")])
