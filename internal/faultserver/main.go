// Command faultserver plays network and server faults on a loopback port, for people and for
// tests on real sockets: in front of another server, or with a small mailbox of its own.
//
//	go run ./internal/faultserver "503, 503, ok"
//	go run ./internal/faultserver --upstream http://127.0.0.1:2222 "POST /emails: reset:after, ok"
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"codeberg.org/teapost/teapost/internal/faults"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

const usage = `Plays faults on a loopback port.

  faultserver [--addr 127.0.0.1:2223] [--upstream http://127.0.0.1:2222] SCRIPT…

A script: "503, 503, ok" or "GET /threads/*: 503*2, ok; POST /emails: reset:after, ok"; the first
rule that fits a request plays, and /* at the end of a path fits whatever follows.
Steps: a status (429:retry-after=2, 502:html, 200:empty), ok, delay:2s, stall, stall:30s, reset,
reset:read, reset:after, reset:body, cut, slow:10s, garbage, garbage:http, redirect, big:70; *N
repeats a step, and "503, ..." the last one for ever; else requests pass after the last.
Without --upstream a small mailbox in memory answers. A script typed while it runs replaces the
one that is playing.

`

// run returns the exit code: 0 stopped, 1 failed, 2 wrong usage.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("faultserver", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.Usage = func() {
		fmt.Fprint(errOut, usage)
		fs.PrintDefaults()
	}
	addr := fs.String("addr", "127.0.0.1:2223", "the loopback `address` to listen on; port 0 takes a free one")
	upstream := fs.String("upstream", "", "the `URL` of the server behind; none: a small mailbox in memory")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	player, err := faults.Parse(strings.Join(fs.Args(), "\n"))
	if err == nil && fs.NArg() == 0 {
		err = errors.New("give a script, such as \"503, 503, ok\"; --help shows the steps")
	}
	if err == nil {
		err = checkLoopback(*addr)
	}
	var next http.Handler
	if err == nil {
		next, err = behind(*upstream)
	}
	if err != nil {
		fmt.Fprintf(errOut, "faultserver: %v\n", err)
		return 2
	}
	ln, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintf(errOut, "faultserver: %v\n", err)
		return 1
	}
	player.Observe = func(r faults.Request) {
		line := fmt.Sprintf("%s  %-6s %s", r.At.Format("15:04:05.000"), r.Method, strconv.QuoteToASCII(r.Path))
		if r.Key != "" {
			line += "  key " + strconv.QuoteToASCII(r.Key)
		}
		fmt.Fprintf(out, "%s  → %s\n", line, strconv.QuoteToASCII(r.Step))
	}
	srv := &http.Server{
		Handler: player.Handler(next), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 10 * time.Second,
	}
	fmt.Fprintf(out, "Ready at http://%s\n", ln.Addr())
	if *upstream == "" {
		fmt.Fprintf(out, "Try: OPENEMAIL_BASE_URL=http://%s OPENEMAIL_API_KEY=oe_test_x teapost\n", ln.Addr())
	} else {
		fmt.Fprintf(out, "In front of %s; give teapost that server's key with OPENEMAIL_BASE_URL=http://%s\n", *upstream, ln.Addr())
	}
	fmt.Fprintln(out, "Type another script and enter to replace the one that is playing; ctrl+c stops.")
	go readScripts(in, player, out)
	stop := context.AfterFunc(ctx, func() {
		player.Close()
		_ = srv.Close()
	})
	defer stop()
	if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintf(errOut, "faultserver: %v\n", err)
		return 1
	}
	return 0
}

func readScripts(in io.Reader, player *faults.Player, out io.Writer) {
	sc := bufio.NewScanner(in)
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" {
			continue
		}
		if err := player.Set(line); err != nil {
			fmt.Fprintln(out, err)
			continue
		}
		fmt.Fprintln(out, "playing the new script")
	}
}

// checkLoopback keeps the faults, and whatever credential comes with a request, on this machine.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr %q: write HOST:PORT, such as 127.0.0.1:2223", addr)
	}
	if !loopback(host) {
		return fmt.Errorf("--addr %q: only this machine is served; write 127.0.0.1 or [::1]", addr)
	}
	return nil
}

func loopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

func behind(upstream string) (http.Handler, error) {
	if upstream == "" {
		return newMailbox(time.Now).handler(), nil
	}
	u, err := url.Parse(upstream)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return nil, fmt.Errorf("--upstream %q: write http://127.0.0.1:PORT, or https:// for another machine", upstream)
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) },
		// A kept connection that broke would be tried twice unseen; one request is one request.
		Transport: &http.Transport{DisableKeepAlives: true},
		ErrorLog:  log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			send(w, http.StatusBadGateway, object{"error": object{"type": "api_error", "code": "upstream_unreachable", "message": "the server behind does not answer"}})
		},
	}, nil
}
