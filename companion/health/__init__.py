"""How the installation is: what the doctor looks at, what `/health` and `/metrics` tell, and who is alive."""
