// Command shot turns a captured frame of a terminal into an SVG picture: what stands in the README is the real screen.
// It reads the frame on standard input, lines of text with SGR sequences, and writes the picture to standard output.
//
//	tmux capture-pane -e -p -t teapost | go run ./internal/shot --title "The inbox" > docs/threads.svg
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// maxFrame is the most that is read of a frame. A full screen with a colour for each cell is a hundredth of it.
const maxFrame = 16 << 20

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run returns the exit code: 0 drawn, 1 failed, 2 wrong usage.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("shot", flag.ContinueOnError)
	fs.SetOutput(errOut)
	title := fs.String("title", "A terminal", "what the picture shows, `text` for people who do not see it")
	cols := fs.Int("cols", 0, "the terminal's width in `cells`; 0: that of the longest line")
	light := fs.Bool("light", false, "a light terminal instead of a dark one")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if fs.NArg() > 0 || *cols < 0 {
		fmt.Fprintln(errOut, "shot: the frame comes on standard input; --cols is not negative")
		return 2
	}
	frame, err := io.ReadAll(io.LimitReader(in, maxFrame))
	if err == nil {
		w := bufio.NewWriter(out)
		t := dark
		if *light {
			t = bright
		}
		draw(w, parse(string(frame)), *cols, *title, t)
		err = w.Flush()
	}
	if err != nil {
		fmt.Fprintln(errOut, "shot:", err)
		return 1
	}
	return 0
}
