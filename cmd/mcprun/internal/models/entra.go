package models

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// azureScope is what a token of Entra ID is for.
const azureScope = "https://cognitiveservices.azure.com/.default"

// entra returns what gets tokens of Entra ID: with variables AZURE_* of the environment, the identity of the workload or the machine, or the
// login of az, azd or PowerShell, in this order. The library keeps a token until it has nearly expired.
func entra(client policy.Transporter) (func(context.Context) (string, error), error) {
	found, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: azcore.ClientOptions{Transport: client}})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) {
		token, err := found.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{azureScope}})
		return token.Token, err
	}, nil
}
