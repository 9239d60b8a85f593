// Package api is a client of the OpenEmail HTTP API.
//
// A [Client] makes typed calls, each a method of one of its services: threads.get is
// Threads.Get, contacts.listPeople is Contacts.ListPeople. Each call is one operation of
// [Operations], and that table alone decides whether a failed attempt is repeated: reads
// are, sends are under one idempotency key, some writes are, everything else goes out
// once. One attempt is exactly one request on the wire, and redirects are never followed.
//
//	c, err := api.New(api.FromEnv(api.Options{}))
//	if err != nil { … }
//	for thread, err := range c.Threads.All(ctx, api.ThreadListParams{Folder: "inbox"}) { … }
//
// An operation that has no method yet is made with [Client.Do].
//
// # Values
//
// In answers a text that is null or missing is empty; numbers, flags, instants and
// objects that may be missing are pointers, nil when they are. Instants are [time.Time]
// in UTC, read leniently. The name that each object carries ("object") is left out where
// the Go type says it. Enums are string types with the known values as constants, and
// keep unknown ones. What the contract leaves open is [Open]: JSON as it came.
//
// In bodies a field of type [Opt] is left out, null, or set: three different things,
// with [Set] and [Null]. Nil lists and maps are left out and empty ones are sent, except
// where the contract requires them. Instants are [Instant], which [At] makes. A union is a
// struct with a field for each variant, exactly one of which is set.
//
// # Lists
//
// List methods return one page, and All methods walk every page. A walk ends when the
// caller stops, when there is no more, when a cursor comes back that was already
// followed, or with an error when its context ends.
//
// # Bytes
//
// [Upload] bodies are streamed, and so are downloads, up to a limit. Both report their
// [Progress] to observers. See [Upload] and [Downloaded] for when they are repeated. Any other
// answer is read whole, up to 64 MiB ([ErrTooLarge]); the files of ListAttachments too.
//
// # Credentials
//
// A client has one credential: an API key, an access token, or a function that gives
// one. A call may carry another key ([WithAPIKey]). Temporary mailboxes are opened by their
// token ([Options].InboxToken, [WithInboxToken]). When a sensitive call needs the person
// once more ([ErrStepUp]), [Client.StepUp] runs the flow.
//
// # Errors
//
// An error is an [*Error] when the server answered, a [*NetworkError] when no usable
// answer came or the caller cancelled, a [*TransferError] when the caller's reader or
// writer failed, and an [*ArgumentError] when the call was refused before anything was
// sent. What happened is asked with [errors.Is] and the targets of this package.
//
// Which one it is about is in their fields: the server's code, message, refused fields and
// request id, the number of attempts, whether any request may have left. Their texts are for
// people and hold no credential and no query. The request id of a success is in its [Done]
// event ([WithObserver]).
//
// A call that failed has had no effect when its error is an ArgumentError, a NetworkError with
// NotSent, or an Error with Attempts of 1 and a status from 400 to 499 other than 408.
// Otherwise it may have had one: try a send again under its key, and look before doing
// anything else again.
//
// # Attempts and waits
//
// A call makes at most two attempts after the first ([Options].MaxRetries, [WithMaxRetries]),
// and only if its operation may be repeated, and only after a network failure, a timeout of
// the attempt, or a 408, 500, 502, 503 or 504; after a 429 only when the server says when. It
// waits as long as a Retry-After header asks, else a random time between half of and all
// of 0.5 s, 1 s, 2 s and so on up to 8 s. Asked to wait more than 60 s it gives up at once and says
// so in [Error].RetryAfter. Each attempt has 30 s ([Options].Timeout, [WithTimeout]), its body
// included. A cancelled context ends a call at once, in an attempt or in a wait.
//
// Each step is an [Event] to the observers ([Options].Observer, [WithObserver]): started,
// failed, waiting until then, and in the end exactly one of [Done], [GaveUp] and [Cancelled].
// The rules with a picture are in docs/retries.md of the repository.
//
// # Sending once
//
// The attempts of a send carry one idempotency key, so that the server takes the message
// once however often it arrives. To keep that promise over a crash, make the key
// ([NewIdempotencyKey]) and the body ([EncodeBody]) first, store both, and send with
// EmailsService.SendBytes and [WithIdempotencyKey]; after a restart the same two again.
//
// # Beside a loop of one's own
//
// [Async] runs calls for a program that must not wait, such as a user interface: at most so
// many at once, as many as the server likes, a person's before the background's, identical
// reads as one, and each [Job] with exactly one [Final]. A job that waits for its next attempt
// holds no slot. Jobs are cancelled one by one or as a group; Close ends all at once, and Drain
// lets them finish.
//
// # Webhooks
//
// [VerifyWebhook] checks the signature and the age of a request that the API makes to a
// server of one's own, before anything in it is believed. A delivery may come twice:
// [VerifiedWebhook].Delivery is then the same.
//
// # Tests
//
// A program's own tests can give [Options].Transport an http.RoundTripper that answers in
// memory, or call a real server without an account: `teapost serve --sample` of the repository
// (docs/serve.md says what it has) on a loopback address.
//
// # Concurrency
//
// A Client and an Async may be used from many goroutines at once. A client keeps its
// connections; make one for each account, not one for each call.
package api
