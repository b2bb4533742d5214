import { createDocument } from "./servers/drive/index.ts";
await createDocument({ title: "Kick-off agenda", content: `# Kick-off, 9 April 2026

1. Introductions (10 minutes)
2. Goals of the pilot, and how we will know that it worked
3. Depots of the first wave: Rotterdam, Bremen, Gdynia, Leith
4. Data: who exports what, by when, in which format
5. Risks, and who watches each of them
6. Next steps

Please read the pilot plan before the meeting.
` });
console.log("The agenda is in the drive.");
