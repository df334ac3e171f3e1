package main

import (
	"encoding/json"

	"gopkg.in/inf.v0"
	"k8s.io/apimachinery/pkg/api/resource"
)

var quantityTexts = []string{
	// Plain numbers and signs.
	"0", "1", "10", "007", "+5", "-5", "-0", "+0", "--1", "+-1", "+", "-",
	// Fractions.
	".5", "5.", "1.0", "1.5", "0.0", "-1.5", ".", "-.5", "+5.", "1.2.3", "00.10", "2.50e1",
	// Decimal suffixes.
	"1n", "1u", "1m", "1000m", "1500m", "999m", "-2000m", "1000000000n", "1000000u", "0m",
	"1k", "1K", "1M", "1G", "1T", "1P", "1E", "1.5k", "0.0015k", "1kk", "1B", "1mi",
	// Binary suffixes.
	"1Ki", "1Mi", "8Gi", "1Ti", "1Pi", "1Ei", "1.5Ki", "0.5Ki", "0.1Ki", "-1Ki", "1ki", "1KiB", "1Ki ",
	"0.0009765625Ki",
	// Exponents.
	"1e3", "1E3", "1e+3", "1e-3", "1000e-3", "1e0", "1e", "1e+", "1e3Ki", "1e3k", "1.5e3", "1e1.5",
	"1e-9", "1e-10", "1e18", "1e19", "1e30", "-1e30", "0e5", "1E+2", "1e 3",
	// Rounded up to the next nano-unit.
	"0.0000000001", "0.9999999999", "0.999999999", "-0.9999999999", "1.0000000001",
	"1.0000000000",
	// Around the bounds of 32 and 64 bits, and past them.
	"2147483647", "2147483648", "9223372036854775807", "9223372036854775808",
	"-9223372036854775808", "-9223372036854775809", "18446744073709551616",
	"99999999999999999999999999", "9E", "10E", "7Ei", "8Ei", "9Ei", "-8Ei", "-9Ei", "100000Ei",
	"8388608Ti", "9007199254740993", "9223372036854775.807k", "9223372036854775807000m",
	"000000000000000000000000000001",
	// Not quantities.
	"", " ", " 1", "1 ", "1 Gi", "1_000", "1,000", "0x1", "0b1", "0o7", "NaN", "Inf", "-Inf", "inf",
	"nan", "abc", "Gi", "m", "e3", "E", "true", "null", "1\n", "\t1", "\u0661", "\uff11", "1\u00a0",
	"\u22121", "1%", "$1",
	// Without any digit: read as zero on the short path through ParseQuantity, refused on
	// the long one.
	"Ki", "Ti", ".Gi", "Pi", "Ei", "+Ei", ".e-9", "e-9", "e-10", "-e-10",
}

// quantities maps each text to its whole value, to nil where it has a fraction, or to
// "invalid" where Kubernetes cannot read it. The value is the exact one, so it may be
// larger than int64, and "1000m" is 1 (Quantity.AsInt64 gives up on both).
func quantities() map[string]any {
	table := make(map[string]any, len(quantityTexts))
	for _, text := range quantityTexts {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			table[text] = "invalid"
			continue
		}
		table[text] = wholeValue(quantity)
	}
	return table
}

func wholeValue(quantity resource.Quantity) any {
	rounded := new(inf.Dec).Round(quantity.AsDec(), 0, inf.RoundDown)
	if rounded.Cmp(quantity.AsDec()) != 0 {
		return nil
	}
	return json.Number(rounded.String())
}
