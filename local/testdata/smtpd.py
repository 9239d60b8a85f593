"""A mail server on loopback: aiosmtpd, which writes a line of JSON for each message that it took.

    python smtpd.py PORT KIND CERTIFICATE USER PASSWORD LARGEST

PORT may be 0; KIND is starttls, implicit or none. The first line says the port. It ends when its input does.
"""

import asyncio
import base64
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult


class Keep:
    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody@"):
            return "550 5.1.1 There is no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 Recipient taken"

    async def handle_DATA(self, server, session, envelope):
        say(
            {
                "from": envelope.mail_from,
                "to": envelope.rcpt_tos,
                "options": envelope.mail_options,
                "tls": session.ssl is not None or bool(server.transport.get_extra_info("ssl_object")),
                "user": session.auth_data.login.decode() if session.auth_data else "",
                "message": base64.b64encode(envelope.original_content).decode(),
            }
        )
        return "250 2.0.0 Kept"


def say(value):
    print(json.dumps(value), flush=True)


async def main(port, kind, certificate, user, password, largest):
    context = None
    if kind != "none":
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)

    def authenticate(server, session, envelope, mechanism, data):
        good = data.login == user.encode() and data.password == password.encode()
        return AuthResult(success=good, handled=False, auth_data=data)

    def smtp():
        return SMTP(
            Keep(),
            hostname="smtpd.test",
            data_size_limit=int(largest),
            enable_SMTPUTF8=True,
            tls_context=context if kind == "starttls" else None,
            require_starttls=kind == "starttls",
            authenticator=authenticate,
            auth_required=True,
            # It knows only of TLS that began with STARTTLS.
            auth_require_tls=kind == "starttls",
        )

    loop = asyncio.get_running_loop()
    server = await loop.create_server(smtp, "127.0.0.1", int(port), ssl=context if kind == "implicit" else None)
    say(server.sockets[0].getsockname()[1])
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main(*sys.argv[1:]))
