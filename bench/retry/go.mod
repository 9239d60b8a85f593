module codeberg.org/teapost/teapost/bench/retry

go 1.26.0

require (
	codeberg.org/teapost/teapost v0.0.0
	github.com/hashicorp/go-retryablehttp v0.7.8
)

require (
	github.com/hashicorp/go-cleanhttp v0.5.2 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.44.0 // indirect
)

replace codeberg.org/teapost/teapost => ../..
