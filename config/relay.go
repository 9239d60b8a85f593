package config

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// The kinds of encryption between the local mailbox and its relay.
const (
	RelayStartTLS = "starttls" // begins in the clear and must offer STARTTLS
	RelayImplicit = "implicit" // TLS from the first byte
	RelayNone     = "none"     // for a relay on this machine only
)

// Password is the kind of secret that signs in to a relay.
const Password CredentialKind = "password"

// Relay is the SMTP server that takes the mail of the local mailbox to other people.
type Relay struct {
	Host string // a name or an address in its one spelling
	Port int
	TLS  string // [RelayStartTLS], [RelayImplicit] or [RelayNone]
	User string // empty: without signing in
	// Source says in words where the password comes from; empty without a User.
	Source string

	src *source
}

// Addr returns HOST:PORT.
func (r *Relay) Addr() string { return net.JoinHostPort(r.Host, strconv.Itoa(r.Port)) }

// Password returns the password of User. It may run a command, read a file or ask the keyring, so it must not be called
// on the render loop; what it got is kept. It is safe for concurrent use. The error is an *Error, or the context's.
func (r *Relay) Password(ctx context.Context) (Secret, error) {
	if r.src == nil {
		return Secret{}, &Error{Where: "local.relay", What: "the relay has no password"}
	}
	v, err := r.src.get(ctx)
	return Secret{v}, err
}

// Forget drops a password that was refused, so that the next call fetches it again.
func (r *Relay) Forget() {
	if r.src != nil {
		r.src.forget()
	}
}

// RelayKeyringUser names the entry of a relay's password in the keyring, whose service is KeyringService. It holds the
// relay's address, so that the password cannot go elsewhere when the host in the file is changed.
func RelayKeyringUser(user, host string, port int) string {
	return user + "@smtp://" + net.JoinHostPort(host, strconv.Itoa(port))
}

type rawRelay struct {
	Host            *string   `toml:"host" like:"smtp.example.com"`
	Port            *int64    `toml:"port"`
	TLS             *string   `toml:"tls" like:"starttls"`
	User            *string   `toml:"user" like:"ada"`
	PasswordCommand *[]string `toml:"password_command" like:"pass,show,mail"`
	PasswordFile    *string   `toml:"password_file" like:"~/.relay-password"`
	Keyring         *bool     `toml:"keyring"`
}

// loadRelay checks the table [local.relay]; without one there is no relay.
func (c *Config) loadRelay() error {
	r := c.file.raw.Local.Relay
	if r == nil {
		return nil
	}
	at := func(key string) string { return c.Where("local", "relay", key) }
	var errs []error
	fault := func(key, what, mend string) {
		errs = append(errs, &Error{Where: at(key), What: what, Mend: mend})
	}
	out := &Relay{TLS: or(r.TLS, RelayStartTLS), User: or(r.User, "")}
	ports := map[string]int{RelayStartTLS: 587, RelayImplicit: 465, RelayNone: 25}
	port, known := ports[out.TLS]
	if !known {
		fault("tls", fmt.Sprintf("%q is no kind of encryption", out.TLS), "allowed: starttls, implicit, none (for a relay on this machine)")
	}
	out.Port = port
	if r.Port != nil {
		if *r.Port < 1 || *r.Port > 65535 {
			fault("port", fmt.Sprintf("%d is no port", *r.Port), "allowed: 1 to 65535")
		}
		out.Port = int(*r.Port)
	}
	host, ok := canonicalHost(strings.Trim(or(r.Host, ""), "[]"))
	out.Host = host
	switch {
	case r.Host == nil || *r.Host == "":
		errs = append(errs, &Error{Where: c.Where("local", "relay"), What: "the relay has no host", Mend: `write for example host = "smtp.example.com"`})
	case !ok || isUnspecified(host):
		fault("host", fmt.Sprintf("%q is not the name of a host", *r.Host), `write for example "smtp.example.com"; the port has a line of its own`)
	case out.TLS == RelayNone && !isLoopback(host):
		fault("tls", "mail and password would go to another machine in the clear", "use starttls or implicit")
	}
	label := func(key string) string { return "local.relay, " + key }
	var given []string
	if r.PasswordCommand != nil {
		given = append(given, "password_command")
		if err := checkArgv(*r.PasswordCommand); err != nil {
			fault("password_command", err.Error(), `write a list such as ["pass", "show", "mail"]; no shell reads it`)
		} else {
			out.src = commandSource(Password, label("password_command"), *r.PasswordCommand, commandTimeout)
		}
	}
	if r.PasswordFile != nil {
		given = append(given, "password_file")
		path, err := c.path(*r.PasswordFile)
		switch {
		case *r.PasswordFile == "":
			fault("password_file", "the path is empty", "write the path of a file with the password in its first line")
		case err != nil:
			fault("password_file", err.Error(), "write the whole path")
		}
		out.src = fileSource(Password, label("password_file"), path)
	}
	if or(r.Keyring, false) {
		given = append(given, "keyring")
		out.src = keyringSource(Password, label("keyring"), RelayKeyringUser(out.User, out.Host, out.Port), "password_command or password_file")
	}
	const ways = "one of password_command, password_file, keyring = true"
	switch {
	case len(given) > 1:
		fault(given[1], "a relay has one password, here are "+strings.Join(given, " and "), "keep "+ways)
	case out.User != "" && len(given) == 0:
		fault("user", "the relay has a user but no password", "give "+ways)
	case out.User == "" && len(given) > 0:
		fault(given[0], "the relay has a password but no user", "write user = with the name to sign in with")
	}
	if strings.ContainsFunc(out.User, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		fault("user", "the name holds a control character", "")
	}
	if c.file.raw.Local.Addresses == nil || len(*c.file.raw.Local.Addresses) == 0 {
		errs = append(errs, &Error{
			Where: c.Where("local", "relay"), What: "a relay takes mail only from addresses that are yours",
			Mend: `write them in [local], for example addresses = ["ada@example.com"]`,
		})
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if out.src != nil {
		out.Source = out.src.label
	}
	c.Local.Relay = out
	return nil
}
