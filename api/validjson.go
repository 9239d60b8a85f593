package api

import (
	"encoding/binary"
	"math/bits"
)

// maxJSONDepth is the depth at which encoding/json gives up.
const maxJSONDepth = 10000

// validJSON is json.Valid in about a quarter of the time. An answer that is handed out as it
// came is checked once here and once where it is decoded.
func validJSON(b []byte) bool {
	i, ok := jsonValue(b, jsonSpace(b, 0), 0)
	return ok && jsonSpace(b, i) == len(b)
}

func jsonSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// jsonValue returns the place behind the value that begins at i.
func jsonValue(b []byte, i, depth int) (int, bool) {
	if i >= len(b) {
		return i, false
	}
	switch c := b[i]; c {
	case '"':
		return jsonString(b, i+1)
	case '{', '[':
		return jsonContainer(b, i+1, c == '{', depth+1)
	case 't':
		return jsonLiteral(b, i, "true")
	case 'f':
		return jsonLiteral(b, i, "false")
	case 'n':
		return jsonLiteral(b, i, "null")
	}
	return jsonNumber(b, i)
}

// jsonContainer reads an object or an array from behind its bracket.
func jsonContainer(b []byte, i int, object bool, depth int) (int, bool) {
	if depth > maxJSONDepth {
		return i, false
	}
	end := byte(']')
	if object {
		end = '}'
	}
	if i = jsonSpace(b, i); i < len(b) && b[i] == end {
		return i + 1, true
	}
	for {
		var ok bool
		if object {
			if i >= len(b) || b[i] != '"' {
				return i, false
			}
			if i, ok = jsonString(b, i+1); !ok {
				return i, false
			}
			if i = jsonSpace(b, i); i >= len(b) || b[i] != ':' {
				return i, false
			}
			i = jsonSpace(b, i+1)
		}
		if i, ok = jsonValue(b, i, depth); !ok {
			return i, false
		}
		if i = jsonSpace(b, i); i >= len(b) {
			return i, false
		}
		switch b[i] {
		case end:
			return i + 1, true
		case ',':
			i = jsonSpace(b, i+1)
		default:
			return i, false
		}
	}
}

// jsonString reads a string from behind its quote, eight bytes at a time while they
// are plain.
func jsonString(b []byte, i int) (int, bool) {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			quote, escape := x^(ones*'"'), x^(ones*'\\')
			// In the lowest byte that is no plain character, and perhaps in some above it, the high bit.
			special := (quote-ones)&^quote | (escape-ones)&^escape | (x-ones*0x20)&^x
			if special &= highs; special != 0 {
				i += bits.TrailingZeros64(special) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return i, false
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c < 0x20:
			return i, false
		case c != '\\':
			i++
			continue
		}
		if i++; i >= len(b) {
			return i, false
		}
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i++
		case 'u':
			if len(b)-i < 5 || !isHex(b[i+1]) || !isHex(b[i+2]) || !isHex(b[i+3]) || !isHex(b[i+4]) {
				return i, false
			}
			i += 5
		default:
			return i, false
		}
	}
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func jsonLiteral(b []byte, i int, word string) (int, bool) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, false
	}
	return i + len(word), true
}

func jsonNumber(b []byte, i int) (int, bool) {
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}
