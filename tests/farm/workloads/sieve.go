// Primes, and a map of strings.
package main

import (
	"fmt"
	"sort"
)

func main() {
	const limit = 50000
	composite := make([]bool, limit)
	count := 0
	for i := 2; i < limit; i++ {
		if composite[i] {
			continue
		}
		count++
		for j := 2 * i; j < limit; j += i {
			composite[j] = true
		}
	}
	ages := map[string]int{}
	for k := 0; k < 2000; k++ {
		ages[fmt.Sprint("n", k*7919%1000)] += k * 31 % 97
	}
	names := make([]string, 0, len(ages))
	for name := range ages {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Println(count, len(names), names[0], ages[names[0]])
}
