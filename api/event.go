package api

import "time"

// Phase is one step in the life of a call.
type Phase int

// The phases of a call. A call ends with exactly one of Done, GaveUp and Cancelled.
const (
	Queued    Phase = iota + 1 // waits for a free slot; only under Async
	Started                    // an attempt begins
	Failed                     // an attempt failed; Waiting or a final phase follows
	Waiting                    // the wait before the next attempt begins
	Done                       // final: the call succeeded
	GaveUp                     // final: the call failed
	Cancelled                  // final: the caller ended it
	Progress                   // bytes of an upload or a download went through; at most ten a second
)

// String returns the phase in lower case: "queued", "gave up".
func (p Phase) String() string {
	switch p {
	case Queued:
		return "queued"
	case Started:
		return "started"
	case Failed:
		return "failed"
	case Waiting:
		return "waiting"
	case Done:
		return "done"
	case GaveUp:
		return "gave up"
	case Cancelled:
		return "cancelled"
	case Progress:
		return "progress"
	}
	return "unknown"
}

// Final reports whether p ends a call.
func (p Phase) Final() bool { return p == Done || p == GaveUp || p == Cancelled }

// Event reports one step of one call. It never holds a secret, a body, a query or
// an error value. Code and RequestID come from the server: clean them before showing.
type Event struct {
	Call      string // the call's id, the same over all attempts
	Op        string // the operation, "emails.send"
	Phase     Phase
	Attempt   int           // 1 is the first try; 0 before it
	Limit     int           // attempts allowed
	Wait      time.Duration // length of the wait that begins; Waiting only
	Until     time.Time     // when the next attempt starts; Waiting only
	Bytes     int64         // read from the answer so far; in Progress of an upload: sent so far
	Total     int64         // Progress only: what Bytes will be in the end; 0: not known
	Cause     string        // "503", "timeout", "connection reset"; with a wait also "Retry-After"
	Status    int           // last HTTP status; 0 when none came
	Code      string        // the API's error code
	RequestID string        // the server's request id
	At        time.Time     // when it happened
}
