"""Code that linear agents share: FedUCB, its peer-to-peer form and asynchronous FedLinUCB."""
