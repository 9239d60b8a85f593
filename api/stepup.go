package api

import (
	"context"
	"errors"
)

// stepUpTries is how often StepUp asks for a code.
const stepUpTries = 3

// StepUpPrompt asks a person for the code of a step-up.
type StepUpPrompt struct {
	Challenge StepUpChallenge
	Try       int   // 1 is the first
	Err       error // why the last code was refused; nil at first
}

// StepUp makes a sensitive call, and elevates the client's OAuth token when the server
// asks for it: it begins a step-up, has ask get the code from the person, verifies it,
// and makes the call once more. A code that is refused is asked for again, three times
// in all; one that is too old makes a new challenge. An error of ask ends it.
//
// A call that was refused has done nothing, so it may be made again whatever its class.
// Calls with an API key are never asked for a step-up. The elevation lasts for later
// calls too; see SecurityService.StepUpStatus.
func (c *Client) StepUp(ctx context.Context, ask func(context.Context, StepUpPrompt) (code string, err error), call func(context.Context) error) error {
	err := call(ctx)
	if !errors.Is(err, ErrStepUp) {
		return err
	}
	challenge, err := c.Security.BeginStepUp(ctx, StepUpBegin{})
	if err != nil {
		return err
	}
	var refused error
	for try := 1; ; try++ {
		code, err := ask(ctx, StepUpPrompt{Challenge: *challenge, Try: try, Err: refused})
		if err != nil {
			return err
		}
		_, refused = c.Security.VerifyStepUp(ctx, StepUpVerify{Code: code})
		var answer *Error
		switch {
		case refused == nil:
			return call(ctx)
		case !errors.As(refused, &answer) || !errors.Is(refused, ErrStepUpCode) || try == stepUpTries:
			return refused
		case answer.Code == codeStepUpExpired:
			if challenge, err = c.Security.BeginStepUp(ctx, StepUpBegin{Resend: Set(true)}); err != nil {
				return err
			}
		}
	}
}
