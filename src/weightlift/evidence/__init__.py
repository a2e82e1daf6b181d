"""What rows say about a network: its class (`gauge`), JᵀJ (`information`), agreement and distinct rows (`rows`)."""
