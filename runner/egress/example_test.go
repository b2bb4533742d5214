package egress_test

import (
	"fmt"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/egress"
)

// What a script may connect to is known without a connection.
func ExampleRules_Explain() {
	settings := &config.Network{Present: true, NetworkPart: config.NetworkPart{Allow: []config.NetworkEntry{
		{Host: "*.example.com", Ports: []int{443}, Protocols: []string{"https"}},
	}}}
	rules, err := egress.NewRules(egress.RulesOptions{Network: settings, File: "mcpgen.yaml"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, url := range []string{"https://api.example.com/", "http://api.example.com/", "https://10.0.0.5/"} {
		if x := rules.Explain("GET", url); x.Refused != nil {
			fmt.Println(x.Refused)
		} else {
			fmt.Println(x.Target, "is allowed by", x.Rule)
		}
	}
	// Output:
	// api.example.com:443 is allowed by network.allow[0]
	// refused by allow list: api.example.com is allowed, but not its port 80; an operator allows it below network.allow in mcpgen.yaml: - {host: api.example.com, protocols: [http]}
	// refused by blocked range: 10.0.0.5 is in a range that no script reaches: private, loopback, link-local, reserved and the like
}
