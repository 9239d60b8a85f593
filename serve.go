package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"codeberg.org/teapost/teapost/config"
	"codeberg.org/teapost/teapost/local"
)

func serveCommand(flags *config.Flags) *cobra.Command {
	var addr, keyFile string
	var sample, printKey bool
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the local mailbox to other programs on this machine", Args: args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, *flags, addr, keyFile, sample, printKey) },
	}
	f := cmd.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:2222", "the loopback `address` to listen on")
	f.StringVar(&keyFile, "api-key-file", "", "the `file` with the key that is let in")
	f.BoolVar(&sample, "sample", false, "serve the sample mailbox instead of your own")
	f.BoolVar(&printKey, "print-key", false, "print the key too")
	return cmd
}

func serve(cmd *cobra.Command, flags config.Flags, addr, keyFile string, sample, printKey bool) (err error) {
	ctx := cmd.Context()
	if err := checkLoopback(addr); err != nil {
		return &usageError{err}
	}
	key, where, err := serveKey(keyFile)
	if err != nil {
		return err
	}
	cfg, s, closeAll, err := openData(ctx, flags, sample)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if key == "" {
		if key, where, err = local.LoadOrMakeKey(cfg.DataDir()); err != nil {
			return err
		}
	}
	if sample {
		if err := s.AddSample(ctx); err != nil {
			return err
		}
	}
	log, closeLog, err := logger(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLog()) }()
	runCtx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.RunSchedules(runCtx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()
	return local.Serve(ctx, s, local.ServeOptions{Addr: addr, APIKey: key, Log: log, Ready: func(at string) {
		fmt.Fprintf(cmd.OutOrStdout(), "http://%s\n", at)
		fmt.Fprintf(cmd.ErrOrStderr(), "The key is in %s\n", where)
		if s.Relay() != "" && strings.HasPrefix(key, "oe_test_") {
			fmt.Fprintln(cmd.ErrOrStderr(), "It is a key for tests: what is sent with it is kept as sent and does not go to the relay. Give a key that begins with oe_live_ to send.")
		}
		if printKey {
			fmt.Fprintln(cmd.OutOrStdout(), key)
		}
	}})
}

// checkLoopback refuses addresses that other machines could reach: the mailbox is a person's own.
func checkLoopback(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("--addr %q is not an address such as 127.0.0.1:2222", addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--addr %q is not on this machine alone: use 127.0.0.1 or [::1]", addr)
	}
	return nil
}

// serveKey is the key from the file or the environment, or empty when one must be made.
func serveKey(file string) (key, where string, err error) {
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", "", &config.Error{Where: "--api-key-file", What: err.Error()}
		}
		key, where = strings.TrimSpace(string(b)), file
	} else if key = strings.TrimSpace(os.Getenv(config.EnvAPIKey)); key != "" {
		where = config.EnvAPIKey
	}
	if key != "" && !strings.HasPrefix(key, "oe_test_") && !strings.HasPrefix(key, "oe_live_") {
		return "", "", &config.Error{Where: where, What: "a key begins with oe_test_ or oe_live_"}
	}
	return key, where, nil
}
