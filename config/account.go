package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/adrg/xdg"
)

// Kind says where the mail of an account is.
type Kind string

// The kinds of accounts.
const (
	Local  Kind = "local"  // the embedded server over a mailbox on this machine
	Remote Kind = "remote" // a server that speaks the OpenEmail API
)

// LocalName is the name of the local mailbox, for --account and default_account.
const LocalName = "local"

// Account is the account to open.
type Account struct {
	Kind    Kind
	Name    string // unique among a person's accounts and fit for a folder's name
	BaseURL string // as ParseBaseURL writes it; empty for a local one
	From    string // the address to write from; may be empty
	// Signature stands under new messages; empty for none.
	Signature string
	// Source says in words where the credential comes from: a variable, a file, a command.
	Source string

	src *source
}

// Credential returns the credential of a remote account. It may run a command, read a file or
// ask the keyring, so it must not be called on the render loop; what it got is kept (an access
// token for five minutes). It is safe for concurrent use. The error is an *Error, or the
// context's.
func (a *Account) Credential(ctx context.Context) (CredentialKind, Secret, error) {
	if a.src == nil {
		return "", Secret{}, &Error{Where: "account " + a.Name, What: "the local mailbox has no credential"}
	}
	v, err := a.src.get(ctx)
	if err != nil {
		return a.src.kind, Secret{}, err
	}
	return a.src.kind, Secret{v}, nil
}

// CredentialKind says which kind Credential will return; empty for a local account.
func (a *Account) CredentialKind() CredentialKind {
	if a.src == nil {
		return ""
	}
	return a.src.kind
}

// Forget drops a credential that was refused, so that the next call fetches it again.
func (a *Account) Forget() {
	if a.src != nil {
		a.src.forget()
	}
}

var accountName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// checkAccounts checks every account of the file, the one to open or not.
func (c *Config) checkAccounts() (map[string]Account, error) {
	out := map[string]Account{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.file.raw.Accounts)) {
		r := c.file.raw.Accounts[name]
		at := func(key string) string { return c.Where("accounts", name, key) }
		if !accountName.MatchString(name) || name == LocalName || strings.HasPrefix(name, "local-") || strings.HasPrefix(name, "env-") {
			errs = append(errs, &Error{
				Where: c.Where("accounts", name), What: "this cannot be the name of an account",
				Mend: "use up to 64 of a-z 0-9 . _ -, beginning with a letter or digit; local, local-… and env-… are taken",
			})
			continue
		}
		a := Account{Kind: Remote, Name: name, BaseURL: DefaultBaseURL, From: or(r.From, ""), Signature: or(r.Signature, c.UI.Signature)}
		if r.BaseURL != nil {
			u, err := ParseBaseURL(*r.BaseURL)
			if err != nil {
				errs = append(errs, placed(at("base_url"), err))
			}
			a.BaseURL = u
		}
		if a.From != "" {
			if err := checkAddress(a.From); err != nil {
				errs = append(errs, &Error{Where: at("from"), What: err.Error(), Mend: `write for example "Ada <ada@example.com>"`})
			}
		}
		label := func(key string) string { return fmt.Sprintf("account %s, %s", name, key) }
		var given []string
		for _, cmd := range []struct {
			key  string
			argv *[]string
			kind CredentialKind
		}{{"api_key_command", r.APIKeyCommand, APIKey}, {"access_token_command", r.AccessTokenCommand, AccessToken}} {
			if cmd.argv == nil {
				continue
			}
			given = append(given, cmd.key)
			if err := checkArgv(*cmd.argv); err != nil {
				errs = append(errs, &Error{Where: at(cmd.key), What: err.Error(), Mend: `write a list such as ["pass", "show", "openemail"]; no shell reads it`})
				continue
			}
			a.src = commandSource(cmd.kind, label(cmd.key), *cmd.argv, commandTimeout)
		}
		if r.APIKeyFile != nil {
			given = append(given, "api_key_file")
			path, err := c.path(*r.APIKeyFile)
			switch {
			case *r.APIKeyFile == "":
				errs = append(errs, &Error{Where: at("api_key_file"), What: "the path is empty", Mend: "write the path of a file with the key in its first line"})
			case err != nil:
				errs = append(errs, &Error{Where: at("api_key_file"), What: err.Error(), Mend: "write the whole path"})
			}
			a.src = fileSource(APIKey, label("api_key_file"), path)
		}
		if or(r.Keyring, false) {
			given = append(given, "keyring")
			a.src = keyringSource(APIKey, label("keyring"), KeyringUser(name, a.BaseURL), "api_key_command or api_key_file")
		}
		const ways = "one of api_key_command, api_key_file, keyring = true, access_token_command"
		switch {
		case len(given) == 0:
			errs = append(errs, &Error{Where: c.Where("accounts", name), What: "the account says nothing about its credential", Mend: "give " + ways})
		case len(given) > 1:
			errs = append(errs, &Error{Where: at(given[1]), What: "an account has one credential, here are " + strings.Join(given, " and "), Mend: "keep " + ways})
		}
		if a.src != nil {
			a.Source = a.src.label
		}
		out[name] = a
	}
	c.Accounts = append(slices.Sorted(maps.Keys(c.file.raw.Accounts)), LocalName)
	if d := c.file.raw.DefaultAccount; d != nil && !slices.Contains(c.Accounts, *d) {
		errs = append(errs, &Error{Where: c.Where("default_account"), What: fmt.Sprintf("there is no account %q", *d), Mend: "allowed: " + strings.Join(c.Accounts, ", ")})
	}
	return out, errors.Join(errs...)
}

// placed puts the place on an *Error that has none.
func placed(where string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		return &Error{Where: where, What: e.What, Mend: e.Mend}
	}
	return &Error{Where: where, What: err.Error()}
}

// resolve chooses the account: --account, then --data (the local mailbox), then a credential
// in the environment, then default_account or the only account, then the local mailbox.
func (c *Config) resolve(flags Flags, env Env, accounts map[string]Account) error {
	base, baseFrom, err := overrideBase(flags, env)
	if err != nil {
		return err
	}
	local := c.localAccount()
	if flags.Account == "" && flags.DataDir != "" {
		flags.Account = LocalName
	}
	if flags.Account == LocalName {
		if flags.BaseURL != "" {
			return &Error{Where: "--base-url", What: "the local mailbox has no base URL", Mend: "leave out --base-url, or --account local and --data"}
		}
		c.Account = local
		return nil
	}
	if flags.Account == "" {
		if a, ok, err := envAccount(env, base); ok || err != nil {
			a.Signature = c.UI.Signature
			c.Account = a
			return err
		}
	}
	name := flags.Account
	if name == "" {
		name = or(c.file.raw.DefaultAccount, "")
	}
	if name == "" && len(accounts) > 1 {
		return &Error{
			Where: c.Where("default_account"), What: "there are several accounts and none is the default",
			Mend: fmt.Sprintf("write default_account = %q at the top, or use --account; accounts: %s", c.Accounts[0], strings.Join(c.Accounts, ", ")),
		}
	}
	if name == "" && len(accounts) == 1 {
		name = c.Accounts[0]
	}
	if name == "" || name == LocalName {
		if base != "" {
			return &Error{
				Where: baseFrom, What: fmt.Sprintf("there is a base URL, %s, but no credential for it", base),
				Mend: "put one in " + EnvAPIKey + " or " + EnvAccessToken + ", or leave the base URL away for the local mailbox",
			}
		}
		c.Account = local
		return nil
	}
	a, ok := accounts[name]
	if !ok {
		return &Error{Where: "--account", What: fmt.Sprintf("there is no account %q", name), Mend: "accounts: " + strings.Join(c.Accounts, ", ")}
	}
	if base != "" && base != a.BaseURL {
		return &Error{
			Where: baseFrom,
			What:  fmt.Sprintf("the base URL %s is not where the credential of account %q belongs, which is stored for %s", base, name, a.BaseURL),
			Mend:  "leave the base URL away, or leave --account away and give a credential in " + EnvAPIKey + " or " + EnvAccessToken,
		}
	}
	c.Account = a
	return nil
}

func overrideBase(flags Flags, env Env) (base, from string, err error) {
	v, from := flags.BaseURL, "--base-url"
	if v == "" {
		v, from = env(EnvBaseURL), EnvBaseURL
	}
	if v == "" {
		return "", "", nil
	}
	base, err = ParseBaseURL(v)
	if err != nil {
		return "", from, placed(from, err)
	}
	return base, from, nil
}

func (c *Config) localAccount() Account {
	a := Account{Kind: Local, Name: LocalName, Signature: c.UI.Signature}
	if c.Local.Dir != filepath.Join(xdg.DataHome, "teapost") {
		// Each local mailbox has a lock and an outbox of its own.
		sum := sha256.Sum256([]byte(c.Local.Dir))
		a.Name = "local-" + hex.EncodeToString(sum[:6])
	}
	if len(c.Local.Addresses) > 0 {
		a.From = c.Local.Addresses[0]
	}
	return a
}

// envAccount is the account of the environment. Its name follows from the base URL alone, so
// that the outbox is found again under a new key.
func envAccount(env Env, base string) (Account, bool, error) {
	kind, name := APIKey, EnvAPIKey
	v := strings.TrimSpace(env(EnvAPIKey))
	if v == "" {
		kind, name = AccessToken, EnvAccessToken
		v = strings.TrimSpace(env(EnvAccessToken))
	}
	if v == "" {
		return Account{}, false, nil
	}
	if err := checkCredential(kind, v); err != nil {
		return Account{}, false, &Error{Where: name, What: err.Error(), Mend: "set it right, or unset it"}
	}
	if base == "" {
		base = DefaultBaseURL
	}
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, strings.ToLower(strings.TrimPrefix(base, "https://")))
	if len(clean) > 40 {
		clean = clean[:40]
	}
	sum := sha256.Sum256([]byte(base))
	return Account{
		Kind: Remote, Name: "env-" + clean + "-" + hex.EncodeToString(sum[:3]), BaseURL: base, Source: name,
		src: newSource(kind, name, func(context.Context) (string, error) { return v, nil }),
	}, true, nil
}
