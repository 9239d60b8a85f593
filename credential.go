package main

import (
	"context"
	"fmt"

	"codeberg.org/teapost/teapost/api"
	"codeberg.org/teapost/teapost/config"
)

// origin names whom the server takes a client for, without its credential.
func origin(c *api.Client) string {
	id := c.Identity()
	return fmt.Sprintf("%s %s %s", id.BaseURL, id.Mode, id.Credential)
}

// giveCredential puts the credential of an account into the options of a client. It may run a command.
func giveCredential(ctx context.Context, account *config.Account, o *api.Options) error {
	if account.CredentialKind() == config.AccessToken {
		o.TokenFunc = func(ctx context.Context) (string, error) {
			_, secret, err := account.Credential(ctx)
			return secret.Reveal(), err
		}
		return nil
	}
	_, secret, err := account.Credential(ctx)
	o.APIKey = secret.Reveal()
	return err
}

// renewer asks for the credential of an account again where it is kept; see state.Options.
func renewer(account *config.Account, o api.Options) func(context.Context) (*api.Client, string, error) {
	return func(ctx context.Context) (*api.Client, string, error) {
		_, refused, err := account.Credential(ctx)
		if err != nil {
			return nil, "", err
		}
		account.Forget()
		_, now, err := account.Credential(ctx)
		if err != nil || now.Reveal() == refused.Reveal() {
			return nil, "", err
		}
		if err := giveCredential(ctx, account, &o); err != nil {
			return nil, "", err
		}
		client, err := api.New(o)
		if err != nil {
			return nil, "", err
		}
		return client, origin(client), nil
	}
}
