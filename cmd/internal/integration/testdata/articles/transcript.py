# Read transcript from Google Docs and add to Salesforce prospect
from servers.google_drive import get_document
from servers import salesforce

transcript = get_document(documentId="abc123")["content"]
salesforce.update_record(
    objectType="SalesMeeting",
    recordId="00Q5f000001abcXYZ",
    data={"Notes": transcript},
)
